/** Search of the server by the words in the palette: threads and traces that no list on the page has loaded. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/http.ts";
import { useThreads, useProjects } from "../api/queries.ts";
import type { ThreadRow } from "../api/types.ts";
import type { TraceRow } from "../traces/types.ts";
import { useLater } from "../ui/later.ts";

/** Milliseconds after the last letter, so that a word is one search. */
const SEARCH_MS = 200;
/** Shorter words are in too many threads to choose from. */
const LEAST = 2;
const TRACES = 10;
/** Traces are searched in the projects with the newest runs, and over the longest range that the list of traces offers. */
const PROJECTS = 10;
const DAYS_MS = 30 * 24 * 3_600_000;

const NO_THREADS: ThreadRow[] = [];
const NO_TRACES: TraceRow[] = [];

interface Found {
  /** The words that were searched; "" for none. */
  words: string;
  threads: ThreadRow[];
  traces: TraceRow[];
  /** The answer to the present text is still to come. */
  searching: boolean;
}

export function useFound(text: string): Found {
  const given = text.trim().length < LEAST ? "" : text.trim();
  const words = useLater(given, SEARCH_MS);
  const threads = useThreads(words !== "", words);
  const projects = useProjects();
  const session = projects.data?.slice(0, PROJECTS).map(({ id }) => id) ?? [];
  const traces = useQuery({
    queryKey: ["palette", "traces", words, session],
    enabled: words !== "" && session.length > 0,
    queryFn: ({ signal }) =>
      call<{ runs: TraceRow[] }>(
        "POST",
        "/api/v1/runs/query",
        {
          session,
          is_root: true,
          query: words,
          limit: TRACES,
          select: ["start_time"],
          start_time: new Date(Date.now() - DAYS_MS).toISOString(),
        },
        signal,
      ),
  });
  const searched = words !== "" && words === given;
  return {
    words,
    threads: searched && !threads.isPlaceholderData ? (threads.data?.pages.flat() ?? NO_THREADS) : NO_THREADS,
    traces: searched ? (traces.data?.runs ?? NO_TRACES) : NO_TRACES,
    searching: words !== given || (words !== "" && (threads.isFetching || traces.isFetching)),
  };
}
