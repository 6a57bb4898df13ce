/** The traces of a project, newest first, as a table. The filter is in the address; a row opens beside the list. */
import { RotateCw } from "lucide-react";
import { useEffect, useRef } from "react";
import { useLocation, useSearchParams } from "wouter";
import { ApiError } from "../api/http.ts";
import { Page } from "../page/Page.tsx";
import { useRange } from "../page/range.ts";
import { RangePicker } from "../page/RangePicker.tsx";
import { Loaded } from "../page/states.tsx";
import { Table } from "../page/Table.tsx";
import { useFrame } from "../page/frame.ts";
import { Button } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import { IconButton } from "../ui/IconButton.tsx";
import { columnsOf, Columns, useHidden } from "./Columns.tsx";
import { BadFilter, HowToSend, NoMatch } from "./HowToSend.tsx";
import css from "./list.module.css";
import { Peek } from "./Peek.tsx";
import { useProjects, useTraces } from "./queries.ts";
import { AddFound } from "./RunActions.tsx";
import { Search } from "./Search.tsx";
import type { TraceRow } from "./types.ts";

const keyOf = (row: TraceRow) => row.id;

export function List() {
  const [params, setParams] = useSearchParams();
  const [, navigate] = useLocation();
  const [range, choose] = useRange();
  const frame = useFrame();
  const projects = useProjects();
  const [hidden, setHidden] = useHidden();
  const project = params.get("project") ?? projects.data?.[0]?.id;
  const wanted = {
    project,
    failed: params.get("failed") === "1",
    all: params.get("all") === "1",
    filter: params.get("filter") ?? "",
    words: params.get("q") ?? "",
  };
  const traces = useTraces(wanted, range);
  const rows = traces.data?.rows ?? [];
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
  const addressOf = (row: TraceRow) => {
    const query = new URLSearchParams(params);
    for (const name of ["peek", "failed", "all", "filter", "q"]) query.delete(name);
    if (project !== undefined) query.set("project", project);
    if (row.id !== row.trace_id) query.set("run", row.id);
    return `/traces/${row.trace_id}?${query}`;
  };
  const open = (row: TraceRow) =>
    frame.narrow ? navigate(addressOf(row)) : set({ peek: row.id }, peeked !== undefined);
  useKeys(rows, peeked, {
    peek: (row) => set({ peek: row?.id ?? "" }, true),
    open: (row) => navigate(addressOf(row)),
  });

  const none = wanted.failed || wanted.filter !== "" || wanted.words !== "" ? "no match" : "none";
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
        projects.data &&
        projects.data.length > 0 && (
          <>
            <select
              className={`${controls.field} ${css.project}`}
              aria-label="Project"
              value={project}
              onChange={(event) => set({ project: event.target.value, peek: "" })}
            >
              {!projects.data.some(({ id }) => id === project) && <option value={project}>{project}</option>}
              {projects.data.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
            <Search wanted={wanted} onChange={set} />
            <Columns hidden={hidden} onHidden={setHidden} />
            <AddFound rows={rows} />
          </>
        )
      }
    >
      <div className={css.split} data-peek={peeked ? true : undefined}>
        <div className={css.scroller} data-scroller>
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
              query={projects.error ? { ...traces, error: projects.error, refetch: projects.refetch as never } : traces}
              what="traces"
            >
              {() =>
                rows.length === 0 ? (
                  <NoMatch
                    kind={none}
                    range={range.name}
                    onClear={() => set({ failed: "", filter: "", q: "" })}
                    onLonger={range.key === "30d" ? undefined : () => choose("30d")}
                  />
                ) : (
                  <>
                    <Table
                      label="Traces"
                      columns={columnsOf(addressOf, hidden)}
                      rows={rows}
                      rowKey={keyOf}
                      onOpen={open}
                      openKey={peeked?.id}
                    />
                    {traces.hasNextPage && (
                      <div>
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
            address={addressOf(peeked)}
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
