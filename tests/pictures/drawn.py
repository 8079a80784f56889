"""What a picture's SVG shows: its elements, what is written in it, and what is said on hover."""

from __future__ import annotations

from xml.etree import ElementTree

from rollcall.answers.pictures.svg import SWATCH_PX

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "rect", "line", "path", "polyline", "circle", "text", "title"}
"""All that a picture is drawn with: nothing that acts, loads or links."""


def drawn(svg: str) -> list[tuple[str, dict[str, str]]]:
    """Every element with its attributes."""
    return [(one.tag.removeprefix(SVG), one.attrib) for one in ElementTree.fromstring(svg).iter()]


def written(svg: str) -> list[str]:
    """The texts that stand in it."""
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def hints(svg: str) -> list[str]:
    """What is said on hover."""
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}title")]


def lanes(svg: str) -> list[str]:
    """The names of the lanes, from the top."""
    left = float(ElementTree.fromstring(svg).attrib["data-left"])
    found = (one for one in ElementTree.fromstring(svg).iter(f"{SVG}text") if one.get("text-anchor") == "end")
    places = {round(left - 8, 1), round(left - 8 - SWATCH_PX, 1)}
    return [one[0].text or "" for one in found if len(one) and float(one.attrib["x"]) in places]
