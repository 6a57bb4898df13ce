/** The latest traces of a project, newest first. What is asked for stands in the address. */
import { RotateCw } from "lucide-react";
import { useSearchParams } from "wouter";
import { ApiError } from "../api/http.ts";
import { LoadFailed } from "../chat/Empty.tsx";
import { Bare } from "../chat/Header.tsx";
import header from "../chat/Header.module.css";
import { Button } from "../ui/Button.tsx";
import { IconButton } from "../ui/IconButton.tsx";
import { Filters } from "./Filters.tsx";
import { HowToSend, NoMatch } from "./HowToSend.tsx";
import css from "./list.module.css";
import { useProjects, useTraces } from "./queries.ts";
import { useTitle } from "../ui/title.ts";
import { TraceLink } from "./TraceLink.tsx";

export function List() {
  useTitle("Traces");
  const [params, setParams] = useSearchParams();
  const projects = useProjects();
  const project = params.get("project") ?? projects.data?.[0]?.id;
  const failed = params.get("failed") === "1";
  const filter = params.get("filter") ?? "";
  const traces = useTraces({ project, failed, filter });
  const rows = traces.data?.pages.flatMap((page) => page.runs) ?? [];
  const refused = traces.error instanceof ApiError && traces.error.status === 400 && filter !== "";
  const trouble = projects.error ?? (refused ? null : traces.error);
  const loaded = projects.data?.length === 0 || traces.data !== undefined;

  const set = (changes: Record<string, string>) =>
    setParams((now) => {
      const next = new URLSearchParams(now);
      for (const [name, value] of Object.entries(changes)) {
        if (value === "") next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  return (
    <Bare
      head={
        <>
          <h1 className={header.title}>Traces</h1>
          <IconButton label="Look for newer traces" onClick={() => void traces.refetch()}>
            <RotateCw size={16} aria-hidden />
          </IconButton>
        </>
      }
    >
      <div className={css.scroller} id="traces" tabIndex={-1}>
        <div className={css.inner}>
          {projects.data && projects.data.length > 0 && (
            <Filters
              projects={projects.data}
              wanted={{ project, failed, filter }}
              refusal={refused ? traces.error?.message : undefined}
              onChange={set}
            />
          )}
          {trouble && !traces.data && (
            <LoadFailed
              title="The traces did not load."
              error={trouble.message}
              onRetry={() => void (projects.error ? projects.refetch() : traces.refetch())}
            />
          )}
          {!loaded && !trouble && !refused && (
            <p className={css.note} role="status">
              Loading…
            </p>
          )}
          {loaded && rows.length === 0 && !refused && !trouble && (
            <>
              {failed || filter !== "" ? (
                <NoMatch failed={failed && filter === ""} onClear={() => set({ failed: "", filter: "" })} />
              ) : (
                <HowToSend />
              )}
            </>
          )}
          {rows.length > 0 && (
            <ul className={css.list} aria-label="Traces">
              {rows.map((row) => (
                <TraceLink key={row.trace_id} trace={row} project={project} />
              ))}
            </ul>
          )}
          {traces.hasNextPage && (
            <Button disabled={traces.isFetchingNextPage} onClick={() => void traces.fetchNextPage()}>
              Show more
            </Button>
          )}
        </div>
      </div>
    </Bare>
  );
}
