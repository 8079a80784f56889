"""Prints the words of its command line, for tests of what a recipe passes on."""

import sys

print(sys.argv[1:])
