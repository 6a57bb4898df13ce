/** The requests of the first view of an address. They are sent ahead and by the queries, which must not differ. */
import type { Request } from "./http.ts";

export const assistantsRequest: Request = ["POST", "/assistants/search", { limit: 100 }];

export const meRequest: Request = ["GET", "/api/v1/me"];

export const infoRequest: Request = ["GET", "/info"];

/** The workspace's projects, the one with the newest run first. */
export const projectsRequest: Request = ["GET", "/api/v1/sessions?sort_by=last_run_start_time&limit=100"];

export const THREADS_PAGE = 50;

/** What a list shows of a thread: not its state. */
const ROW = {
  select: ["thread_id", "status", "created_at", "updated_at", "metadata", "interrupts"],
  extract: { first: "values.messages[0].content" },
};

/** One page of threads, newest first. `words`: only those with each of these words in the title or in a message. */
export const threadsRequest = (words: string, offset: number): Request => [
  "POST",
  "/threads/search",
  {
    ...(words !== "" && { query: words }),
    limit: THREADS_PAGE,
    offset,
    sort_by: "updated_at",
    sort_order: "desc",
    ...ROW,
  },
];

/** The row of one thread. `GET /threads/{id}` has the whole state in it, which is requested beside it. */
export const threadRequest = (threadId: string): Request => [
  "POST",
  "/threads/search",
  { ids: [threadId], limit: 1, ...ROW },
];

export const newestRunsRequest = (threadId: string): Request => [
  "GET",
  `/threads/${threadId}/runs?limit=20&select=run_id,status,created_at`,
];

export const stateRequest = (threadId: string): Request => ["GET", `/threads/${threadId}/state`];

const OF_TREE =
  "name,run_type,status,start_time,latency_seconds,parent_run_ids,first_token_time,total_tokens,total_cost";

/** The runs of a trace that are requested before the others: more than a screen has rows. */
export const FIRST_RUNS = 100;

/**
 * The runs of a trace, each after its parent; `first`: only the first ones. Without a project, the server looks for the
 * trace in all of them, and each run has the project's id: in a trace of 2,000 runs, a sixth of the answer.
 */
export function traceRequest(traceId: string, project: string | null, first: boolean): Request {
  const which: Record<string, string> =
    project === null ? { selects: `${OF_TREE},project_id` } : { selects: OF_TREE, project_id: project };
  if (first) which.page_size = String(FIRST_RUNS);
  return ["GET", `/api/v2/traces/${traceId}/runs?${new URLSearchParams(which)}`];
}
