"""Which address is answered by what.

Every address holds all that its page shows (group, moment, span, filter), so that it can be pasted into a chat and
shows a colleague the same. Knows addresses and their fields; must not know how an answer is found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from rollcall.answers.pictures.period import NothingToShow
from rollcall.answers.pictures.svg import svg_of
from rollcall.answers.views.catalog import DETECTORS, VIEWS
from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.sections import account_of
from rollcall.history.known_span import outside
from rollcall.history.rebalances import Span
from rollcall.history.words import at_most, count, moment, ms_of
from rollcall.serve.page import details, drawings, lists, queries, shown
from rollcall.serve.page.answers import Events, drawn, in_pieces, while_there
from rollcall.serve.page.fields import LONGEST_TYPED, FieldError, Fields
from rollcall.serve.page.history import History
from rollcall.serve.page.kept_rows import KeptRows
from rollcall.serve.page.live import Watch, now_ms
from rollcall.serve.page.queries import QueryRefused
from rollcall.serve.page.sql_processes import RETRY_AFTER_S, Busy, SqlProcesses

HERE = Path(__file__).parent
DEFAULT_QUERY = "select group_id, state, generation_id, member_count from groups order by group_id"
DEFAULT_MINUTES = 30.0
LONGEST_MINUTES = 24 * 60.0
_FILES = {"csv": ("text/csv; charset=utf-8", "answer.csv"), "json": ("application/x-ndjson", "answer.jsonl")}

Answering = Callable[[Request], Awaitable[Response]]


PageMethod = Callable[["Pages", Request], Awaitable[Response]]


def once_loaded(answer: PageMethod) -> PageMethod:
    """Until the effects are loaded, the page says that they are being read."""
    return _after(lambda history: history.is_loaded, answer)


def once_ready(answer: PageMethod) -> PageMethod:
    """Until the lists of all groups are made, the page says that they are being made."""
    return _after(lambda history: history.is_ready, answer)


def _after(is_there: Callable[[History], bool], answer: PageMethod) -> PageMethod:
    async def answering(pages: Pages, request: Request) -> Response:
        await pages.watch.look()
        # Before anything is read: later changes are news to this page.
        request.state.seen = pages.watch.seen
        if is_there(pages.history):
            return await answer(pages, request)
        return pages.page(request, "reading.html", pages.fields_of(request))

    return answering


def templates() -> Jinja2Templates:
    """The templates, with the functions that they use."""
    found = Jinja2Templates(directory=HERE / "templates")
    found.env.globals |= {
        "time_of": shown.time_of,
        "ago": shown.ago,
        "id_of": shown.id_of,
        "cause_of": shown.cause_of,
        "section_cell": shown.section_cell,
        "length_of": shown.length_of,
        "at_most": at_most,
        "share_of": shown.share_of,
        "link": shown.link,
        "cost_of": details.cost_of,
        "swatch": shown.swatch,
        "lag_path": shown.lag_path,
        "ticks_of": shown.ticks_of,
        "count": count,
        "key": shown.key,
        "ms_of": ms_of,
        "moment": moment,
    }
    found.env.filters["v"] = shown.shortened
    found.env.filters["with_code"] = shown.with_code
    found.env.trim_blocks = found.env.lstrip_blocks = True
    return found


class Pages:
    """The answers, over one home's history."""

    def __init__(self, history: History, watch: Watch, name: str) -> None:
        self.history = history
        self.watch = watch
        self.name = name
        self.sql_processes = SqlProcesses(history.home)
        self.templates = templates()
        self.kept_rows = KeptRows(self.templates.env)

    # ------------------------------------------------------------ pages

    @once_ready
    async def overview(self, request: Request) -> Response:
        fields = self.fields_of(request)
        until_ms, span = fields.until_ms, fields.span
        now_ms = self._now_ms(until_ms)
        rows = await run_in_threadpool(lists.overview, self.history, now_ms, until_ms, span)
        is_live = self.watch.liveness.is_live or until_ms is not None
        sentence = await run_in_threadpool(lists.trouble_count, self.history, rows, is_live=is_live)
        states = sorted({row["state"] for row in rows if row["state"]})
        hour_from_ms = await run_in_threadpool(lists.hour_from_ms, self.history, now_ms, until_ms)
        highest_lag = max((lag for row in rows for lag in row["lags"] or () if lag is not None), default=0)
        listed = [row for row in rows if span is None or row["in_span"]]
        shared = {"at": fields.at, "has_span": span is not None, "highest_lag": highest_lag}
        return self.page(
            request,
            "overview.html",
            fields,
            rows=self.kept_rows.html(listed, now_ms, **shared),
            row_count=len(listed),
            in_trouble=sentence,
            harmed=[row for row in rows if row["harm"]],
            shown_harmed=lists.SHOWN_IN_TROUBLE,
            now_ms=now_ms,
            hour_from_ms=hour_from_ms,
            highest_lag=highest_lag,
            states=states,
            detectors=[view.detector for view in DETECTORS.values()],
            span=span,
            params=request.query_params,
        )

    @once_loaded
    async def group(self, request: Request) -> Response:
        fields = self.fields_of(request)
        group_id, minutes = fields.group_id, fields.minutes(DEFAULT_MINUTES, LONGEST_MINUTES)
        found = await run_in_threadpool(details.group, self.history, group_id, fields.until_ms)
        if found is None:
            return self._missing(
                request, fields, f"There is no group {shown.shortened(group_id)} in this history at that time."
            )
        now_ms = self._now_ms(fields.until_ms)
        troubles = await run_in_threadpool(lists.troubles_of, self.history, group_id, now_ms, fields.until_ms)
        for trouble in troubles:
            trouble["rebalance"] = details.rebalance_of(trouble, found["rebalances"])
        colours = await run_in_threadpool(drawings.member_colours, self.history, group_id, fields.until_ms)
        owned = None
        topic, partition = fields.topic, fields.partition
        if topic is not None and partition is not None:
            owned = await run_in_threadpool(details.owners, self.history, group_id, topic, partition, now_ms)
        return self.page(
            request,
            "group.html",
            fields,
            group_id=group_id,
            troubles=troubles,
            colours=colours,
            now_ms=now_ms,
            kind=details.kind_of_group(found["group"]),
            minutes=minutes,
            topic=topic,
            partition=partition,
            owned=owned,
            shown_rebalances=details.SHOWN_REBALANCES,
            shown_members=details.SHOWN_MEMBERS,
            shown_offsets=details.SHOWN_OFFSETS,
            **found,
        )

    @once_loaded
    async def rebalance(self, request: Request) -> Response:
        fields = self.fields_of(request)
        e = await run_in_threadpool(self._explained, fields)
        if e is None:
            return self._missing(request, fields, f"{shown.shortened(fields.group_id)} had no such rebalance.")
        near = await run_in_threadpool(details.neighbours, self.history, e, fields.until_ms)
        account = await run_in_threadpool(account_of, e, shows_evidence=True)
        return self.page(
            request,
            "rebalance.html",
            fields,
            group_id=fields.group_id,
            near=near,
            explanation=e,
            account=account,
            colours=await run_in_threadpool(drawings.member_colours, self.history, fields.group_id, fields.until_ms),
        )

    @once_ready
    async def troubles(self, request: Request) -> Response:
        fields = self.fields_of(request)
        now_ms = self._now_ms(fields.until_ms)
        found = await run_in_threadpool(lists.troubles, self.history, now_ms, fields.until_ms)
        return self.page(request, "troubles.html", fields, troubles=found, now_ms=now_ms)

    @once_loaded
    async def sql(self, request: Request) -> Response:
        fields = self.fields_of(request)
        query, refused, answer, status = fields.query, "", None, 200
        if query:
            try:
                answer = await self._answered(request, fields, "html")
            except QueryRefused as refusal:
                refused = str(refusal)
            except Busy as busy:
                refused, status = str(busy), 503
        else:
            await self.sql_processes.warm_up()
        page = self.page(
            request,
            "sql.html",
            fields,
            status,
            query=query or DEFAULT_QUERY,
            answer=answer,
            table="" if answer is None else Markup(answer.body.decode()),
            refused=refused,
            views=VIEWS,
            most_rows=queries.MOST_ROWS,
        )
        return page if answer is None else in_pieces(bytes(page.body), page.media_type or "text/html")

    # ------------------------------------------------------------ what scripts and programs ask for

    async def sql_file(self, request: Request) -> Response:
        fields = self.fields_of(request)
        await self.watch.look()
        form = "csv" if request.path_params["form"] == "csv" else "json"
        media_type, name = _FILES[form]
        found = await self._answered(request, fields, form)
        return in_pieces(found.body, media_type, {"Content-Disposition": f'attachment; filename="{name}"'})

    async def picture(self, request: Request) -> Response:
        fields = self.fields_of(request)
        name = request.path_params["name"]
        if name not in drawings.PICTURES:
            raise FieldError(f"No picture is named {name[:50]!r}.")
        minutes = fields.minutes(DEFAULT_MINUTES, LONGEST_MINUTES)
        until_ms, span, width_px = fields.until_ms, fields.zoomed(LONGEST_MINUTES), fields.width_px
        return await drawn(
            lambda: drawings.of_group(self.history, fields.group_id, name, until_ms, minutes, span, width_px)
        )

    async def rebalance_picture(self, request: Request) -> Response:
        fields = self.fields_of(request)
        span, width_px = fields.zoomed(LONGEST_MINUTES), fields.width_px
        return await drawn(lambda: drawings.of_rebalance(self.history, self._explanation(fields), span, width_px))

    async def lag_picture(self, request: Request) -> Response:
        fields = self.fields_of(request)
        until_ms, width_px = fields.until_ms, fields.width_px
        return await drawn(lambda: drawings.of_lag(self.history, self._explanation(fields), until_ms, width_px))

    async def strip(self, request: Request) -> Response:
        fields = self.fields_of(request)
        until_ms, width_px, span, at = fields.until_ms, fields.width_px, fields.span, fields.at
        return await drawn(lambda: svg_of(drawings.strip(self.history, until_ms, span, at), width_px, title=False))

    async def events(self, request: Request) -> Response:
        return Events(self.watch)

    async def seen(self, request: Request) -> Response:
        """What a page made now would show, for a page that has no stream of events."""
        await self.watch.look()
        return PlainTextResponse(self.watch.seen)

    async def health(self, request: Request) -> Response:
        return PlainTextResponse("ok\n")

    # ------------------------------------------------------------ parts

    async def _answered(self, request: Request, fields: Fields, form: str) -> queries.Written:
        """The answer to the query, which is given up once its client has gone. Raises QueryRefused, Busy."""
        answering = self.sql_processes.answer(fields.query, fields.until_ms, form)
        found = await while_there(request, answering)
        if found is None:
            raise QueryRefused("The client has gone.")
        return found

    def _explained(self, fields: Fields) -> Explanation | None:
        started_ms = fields.started_ms
        at = None if started_ms is None else Span(started_ms, started_ms, str(started_ms))
        return details.rebalance(self.history, fields.group_id, fields.generation_id, at, fields.until_ms)

    def _explanation(self, fields: Fields) -> Explanation:
        e = self._explained(fields)
        if e is None:
            raise FieldError("There was no such rebalance.")
        return e

    def fields_of(self, request: Request) -> Fields:
        return Fields(request.query_params, lambda: self._now_ms(None))

    def _now_ms(self, until_ms: int | None) -> int:
        """The moment that the page shows: the chosen one, else that of the history."""
        return now_ms(self.history, self.watch.liveness) if until_ms is None else until_ms

    def page(self, request: Request, template: str, fields: Fields, status: int = 200, **shown: Any) -> Response:
        until_ms = fields.until_ms
        outside = self._outside(until_ms)
        return self._written(request, template, status, at=fields.at, until_ms=until_ms, outside=outside, **shown)

    def _outside(self, until_ms: int | None) -> str:
        """Return where a chosen moment is if it is outside the history; empty: within it."""
        facts_ms = None if until_ms is None else self.history.span_ms()
        if until_ms is None or facts_ms is None or facts_ms[0] <= until_ms <= facts_ms[1]:
            return ""
        return outside(until_ms, self.history.known_span(), is_written=self.watch.liveness.is_live)

    def _written(self, request: Request, template: str, status: int, **shown: Any) -> Response:
        given = {
            "home": self.name,
            "path": request.url.path,
            "seen": getattr(request.state, "seen", ""),
            "liveness": self.watch.liveness,
            **shown,
        }
        return self.templates.TemplateResponse(request, template, given, status_code=status)

    def _missing(self, request: Request, fields: Fields, sentence: str) -> Response:
        """A group or a rebalance that is not there; it may come."""
        return self.page(request, "error.html", fields, 404, heading="Not found", sentence=sentence, is_missing=True)

    async def refused(self, request: Request, error: Exception) -> Response:
        """A field that does not fit, a query that is refused, nothing to draw: a page, or a sentence for scripts."""
        return self._error(request, "Invalid request", str(error), 400)

    async def unknown(self, request: Request, error: Exception) -> Response:
        """Answer for an address without a page."""
        return self._error(request, "Not found", f"There is no page {request.url.path}.", 404)

    def _error(self, request: Request, heading: str, sentence: str, status: int) -> Response:
        if "text/html" not in request.headers.get("Accept", ""):
            return PlainTextResponse(f"{sentence}\n", status)
        typed = request.query_params.get("at", "")[:LONGEST_TYPED]
        return self._written(
            request, "error.html", status, at="", typed_at=typed, until_ms=None, heading=heading, sentence=sentence
        )

    async def is_busy(self, request: Request, error: Exception) -> Response:
        """More queries run than are allowed at a time."""
        return PlainTextResponse(f"{error}\n", 503, {"Retry-After": str(RETRY_AFTER_S)})


def application(history: History, watch: Watch, name: str) -> Starlette:
    """The pages of a home, which start and stop the watch over its history. name: the home's name on them."""
    pages = Pages(history, watch, name)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        pages.watch.start()
        yield
        pages.watch.stop()
        await pages.sql_processes.close()
        history.close()

    return Starlette(
        routes=[
            Route("/", pages.overview),
            Route("/group", pages.group),
            Route("/rebalance", pages.rebalance),
            Route("/troubles", pages.troubles),
            Route("/sql", pages.sql),
            Route("/answer.{form:str}", pages.sql_file),
            Route("/strip.svg", pages.strip),
            Route("/rebalance.svg", pages.rebalance_picture),
            Route("/rebalance-lag.svg", pages.lag_picture),
            Route("/pictures/{name}.svg", pages.picture),
            Route("/events", pages.events),
            Route("/seen", pages.seen),
            Route("/health", pages.health),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ],
        middleware=[Middleware(GZipMiddleware, minimum_size=1000, compresslevel=4)],
        exception_handlers={
            404: pages.unknown,
            FieldError: pages.refused,
            QueryRefused: pages.refused,
            NothingToShow: pages.refused,
            Busy: pages.is_busy,
        },
        lifespan=lifespan,
    )
