from schemas.effect_rows import *
