from schemas.consumer_effects import *
