/** The traces of a project, newest first, as a table. The filter is in the address; a row opens beside the list. */
import { ListFilter, RotateCw, Bookmark, Maximize2, X } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { useLocation, useSearchParams, Link } from "wouter";
import { ApiError } from "../../api/http.ts";
import { Page } from "../../resources/Page.tsx";
import { ProjectOptions, ProjectWords, useProjectSearch } from "../../resources/ProjectSelect.tsx";
import { LONGEST } from "../../resources/range.ts";
import { useRange, RangePicker } from "../../resources/RangePicker.tsx";
import { Loaded } from "../../resources/states.tsx";
import { Table } from "../../ui/Table.tsx";
import { useFrame } from "../../app/view-props.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import { buildColumns, Columns, useHidden } from "./Columns.tsx";
import { FACETS } from "./facets.ts";
import { useCourse, useFirstTokens } from "./metrics.ts";
import { BadFilter, HowToSend, NoMatch } from "./HowToSend.tsx";
import css from "./list.module.css";
import { AddFound } from "../trace/RunActions.tsx";
import { useProjects } from "../../api/queries.ts";
import { useTraces } from "../queries.ts";
import { NEWEST, readSort, readWanted } from "../requests.ts";
import { Search } from "./Search.tsx";
import type { TraceRow } from "../types.ts";
import { usePressed } from "../../ui/on-demand.ts";
import { TraceView, type View } from "../trace/TraceView.tsx";

// A trace that is opened by its address needs none of these, and the rows come before them.
const Facets = lazy(async () => ({ default: (await import("./Facets.tsx")).Facets }));
const Histogram = lazy(async () => ({ default: (await import("./Histogram.tsx")).Histogram }));

const rowKey = (row: TraceRow) => row.id;

/** Where the facets are shown without a press. */
const WIDE = 1_200;
const KEY = "weir.traces.filters";
const NO_ROWS: TraceRow[] = [];
/** Every condition of the list, as the address names it. */
const CONDITIONS = ["failed", "all", "filter", "q", ...FACETS];

export function List() {
  const [params, setParams] = useSearchParams();
  const [, navigate] = useLocation();
  const [range, choose] = useRange();
  const frame = useFrame();
  const projects = useProjects();
  const [hidden, setHidden] = useHidden();
  const project = params.get("project") ?? projects.data?.[0]?.id;
  const choice = useProjectSearch(project ?? "");
  const wanted = readWanted(params, project);
  const sort = readSort(params);
  const traces = useTraces(wanted, range, sort);
  const found = traces.data?.rows ?? NO_ROWS;
  const first = useFirstTokens(project, found, !hidden.has("first") && !frame.narrow);
  const rows = useMemo(
    () => found.map((row) => ({ ...row, first_token_time: row.first_token_time ?? first.get(row.trace_id) })),
    [found, first],
  );
  // The list is shown first: what is counted may be more than what is listed.
  const [filters, setFilters] = useState(
    () => !frame.narrow && innerWidth >= WIDE && localStorage.getItem(KEY) !== "0",
  );
  const course = useCourse(wanted, range, { enabled: traces.data !== undefined, isGrouped: filters }).data;
  const refused = traces.error instanceof ApiError && traces.error.status === 400 && wanted.filter !== "";
  const peeked = rows.find((row) => row.id === params.get("peek"));

  const set = (changes: Record<string, string>, replace = false) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now);
        for (const [name, value] of Object.entries(changes)) {
          if (value === "") next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace },
    );
  const linkRow = (row: TraceRow) => {
    const query = new URLSearchParams(params);
    for (const name of ["peek", "sort", ...CONDITIONS]) query.delete(name);
    if (project !== undefined) query.set("project", project);
    if (row.id !== row.trace_id) query.set("run", row.id);
    return `/traces/${row.trace_id}?${query}`;
  };
  const open = (row: TraceRow) => (frame.narrow ? navigate(linkRow(row)) : set({ peek: row.id }, peeked !== undefined));
  useKeys(rows, peeked, {
    peek: (row) => set({ peek: row?.id ?? "" }, true),
    open: (row) => navigate(linkRow(row)),
  });

  const conditional = CONDITIONS.some((name) => name !== "all" && params.has(name));
  const none = conditional ? "no match" : "none";
  const clear = () => set(Object.fromEntries(CONDITIONS.map((name) => [name, ""])));
  // Its place is kept while the list is read.
  const beside = filters && !peeked && projects.data?.length !== 0;
  return (
    <Page
      whole
      title="Traces"
      purpose="Every step of a run: its input, output and duration."
      actions={
        <>
          <RangePicker />
          <IconButton label="Refresh" onClick={() => void traces.refetch()}>
            <RotateCw size={16} aria-hidden />
          </IconButton>
        </>
      }
      tools={
        projects.data?.length !== 0 && (
          <>
            {choice.isLong && <ProjectWords words={choice.words} onWords={choice.setWords} />}
            <select
              className={`${controls.field} ${css.project}`}
              aria-label="Project"
              value={project}
              onChange={(event) => set({ project: event.target.value, peek: "" })}
            >
              <ProjectOptions projects={choice.projects} value={project ?? ""} />
            </select>
            <Search wanted={wanted} onChange={set} />
            <Button
              className={css.columns}
              aria-pressed={filters}
              onClick={() => {
                if (!frame.narrow) localStorage.setItem(KEY, filters ? "0" : "1");
                setFilters(!filters);
              }}
            >
              <ListFilter size={14} aria-hidden /> <span>Filters</span>
            </Button>
            <SavedViews />
            <Columns hidden={hidden} onHidden={setHidden} />
            <AddFound rows={rows} />
          </>
        )
      }
    >
      <div className={css.split} data-peek={peeked ? true : undefined} data-facets={beside || undefined}>
        {beside && !traces.data && <div />}
        {beside && traces.data && (
          <Suspense fallback={<div />}>
            <Facets
              wanted={wanted}
              range={range}
              course={course}
              onChoose={(facet, value) => set({ [facet]: value, peek: "" })}
            />
          </Suspense>
        )}
        <div className={css.scroller} data-scroller>
          {projects.data?.length !== 0 && !refused && (
            <Suspense fallback={<div className={css.outline} />}>
              {traces.isPending ? (
                <div className={css.outline} />
              ) : (
                <Histogram course={course} onChoose={(from, to) => choose({ from, to })} />
              )}
            </Suspense>
          )}
          {projects.data?.length === 0 ? (
            <HowToSend />
          ) : refused ? (
            <BadFilter
              filter={wanted.filter}
              message={traces.error?.message ?? ""}
              onClear={() => set({ filter: "" })}
            />
          ) : (
            <Loaded
              query={projects.error ? { ...traces, error: projects.error, refetch: projects.refetch } : traces}
              what="traces"
            >
              {() =>
                rows.length === 0 ? (
                  <NoMatch
                    kind={none}
                    range={range.name}
                    onClear={clear}
                    onLonger={range.key === LONGEST.key ? undefined : () => choose(LONGEST.key)}
                  />
                ) : (
                  <>
                    <Table
                      label="Traces"
                      columns={buildColumns(linkRow, hidden)}
                      rows={rows}
                      rowKey={rowKey}
                      onOpen={open}
                      openKey={peeked?.id}
                      sort={sort}
                      onSort={({ id, order }) =>
                        set({
                          sort: id === NEWEST.id && order === NEWEST.order ? "" : (order === "desc" ? "-" : "") + id,
                        })
                      }
                    />
                    {traces.data?.isComplete === false && (
                      <p className={css.partly}>
                        The range has more days than one request sorts: the newest are sorted.
                      </p>
                    )}
                    {traces.hasNextPage && (
                      <div className={css.acts}>
                        <Button disabled={traces.isFetchingNextPage} onClick={() => void traces.fetchNextPage()}>
                          Show more
                        </Button>
                      </div>
                    )}
                  </>
                )
              }
            </Loaded>
          )}
        </div>
        {peeked && (
          <Peek
            key={peeked.id}
            row={peeked}
            project={project ?? null}
            address={linkRow(peeked)}
            onClose={() => set({ peek: "" })}
          />
        )}
      </div>
    </Page>
  );
}

/** J and K go through the list while a trace is open beside it, or start at its begin; Esc closes, Enter opens the page. */
function useKeys(
  rows: TraceRow[],
  peeked: TraceRow | undefined,
  acts: { peek: (row: TraceRow | undefined) => void; open: (row: TraceRow) => void },
): void {
  const now = useRef({ rows, peeked, acts });
  useEffect(() => {
    now.current = { rows, peeked, acts };
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) return;
      if (target.closest("input, textarea, select, [role=dialog], [role=menu]")) return;
      const { rows, peeked, acts } = now.current;
      const at = peeked ? rows.indexOf(peeked) : -1;
      const next = event.key === "j" ? rows[at + 1] : event.key === "k" ? rows[Math.max(0, at - 1)] : undefined;
      if (next) {
        acts.peek(next);
        document.querySelector(`tr[data-key="${CSS.escape(next.id)}"]`)?.scrollIntoView({ block: "nearest" });
      } else if (peeked && event.key === "Escape") acts.peek(undefined);
      else if (peeked && event.key === "Enter" && target === document.body) acts.open(peeked);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

const loadMenu = async () => (await import("./SavedViewsMenu.tsx")).default;

/** The button of the menu of saved views. */
function SavedViews() {
  const { Opened, button } = usePressed(loadMenu);
  const trigger = (
    <button {...button} className={`${controls.button} ${controls.plain} ${css.columns}`}>
      <Bookmark size={14} aria-hidden /> <span>Views</span>
    </button>
  );
  return Opened ? <Opened trigger={trigger} /> : trigger;
}

/** A trace beside the list. */
function Peek({
  row,
  project,
  address,
  onClose,
}: {
  row: TraceRow;
  project: string | null;
  /** The address of the trace's own page. */
  address: string;
  onClose: () => void;
}) {
  const [run, setRun] = useState(row.id);
  const [view, setView] = useState<View>("tree");
  return (
    <aside className={css.peek} aria-label={`Trace ${row.name}`}>
      <header className={css.peekHead}>
        <h2 className="line" title={row.name}>
          {row.name}
        </h2>
        <Link href={address} className={controls.icon} aria-label="Open the page of this trace" title="Open (Enter)">
          <Maximize2 size={16} aria-hidden />
        </Link>
        <IconButton label="Close (Esc)" onClick={onClose}>
          <X size={16} aria-hidden />
        </IconButton>
      </header>
      <TraceView traceId={row.trace_id} project={project} run={run} view={view} onRun={setRun} onView={setView} />
    </aside>
  );
}
