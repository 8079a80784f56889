from schemas.effects import *
