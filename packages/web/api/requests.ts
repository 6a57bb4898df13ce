/** The reads of the first view of an address: a request, and the key of the query that makes it. They are sent ahead and by the queries. */
import type { Request } from "./http.ts";

export interface Read {
  /** Undefined: the view makes the request each time it is opened. */
  key: readonly unknown[] | undefined;
  request: Request;
}

export const assistantsRead = {
  key: ["assistants"],
  request: ["POST", "/assistants/search", { limit: 100 }],
} satisfies Read;

export const meRead = { key: ["me"], request: ["GET", "/api/v1/me"] } satisfies Read;

export const infoRead = { key: ["info"], request: ["GET", "/info"] } satisfies Read;

/** How many projects are read at once: the server gives at most 100. */
export const PROJECTS_PAGE = 100;

/** The projects with the newest runs. */
export const projectsRead = {
  key: ["projects"],
  request: ["GET", `/api/v1/sessions?sort_by=last_run_start_time&limit=${PROJECTS_PAGE}`],
} satisfies Read;

export const THREADS_PAGE = 50;

/** The members of a thread that lists show: not its state. */
const ROW = {
  select: ["thread_id", "status", "created_at", "updated_at", "metadata", "interrupts"],
  extract: { first: "values.messages[0].content" },
};

/** One page of threads, newest first. `words`: only those with each of these words in the title or in a message. */
export const threadsRead = (words: string, offset: number) =>
  ({
    key: words === "" ? ["threads"] : ["threads", words],
    request: [
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
    ],
  }) satisfies Read;

/** The row of one thread. `GET /threads/{id}` has the whole state in it, which is requested beside it. */
export const threadRead = (threadId: string) =>
  ({
    key: ["thread", threadId],
    request: ["POST", "/threads/search", { ids: [threadId], limit: 1, ...ROW }],
  }) satisfies Read;

export const newestRunsRead = (threadId: string) =>
  ({
    key: undefined,
    request: ["GET", `/threads/${threadId}/runs?limit=20&select=run_id,status,created_at`],
  }) satisfies Read;

export const stateRead = (threadId: string) =>
  ({ key: undefined, request: ["GET", `/threads/${threadId}/state`] }) satisfies Read;
