/** Feedback that people give on the page, over the API of LangSmith's clients. */
import { useQuery } from "@tanstack/react-query";
import { ApiError, call } from "../../api/http.ts";
import { useMay, useMe } from "../../api/me.ts";
import { queryClient } from "../../api/queries.ts";
import type { StoredFeedback } from "../../../../src/traces/types.ts";

// Requests for one id each that are made at the same time become one request for all of them.

/** The most ids of a request, which its address holds. */
const MOST = 50;

export function together<T>(read: (ids: string[]) => Promise<ReadonlyMap<string, T>>): (id: string) => Promise<T> {
  let waiting = new Map<string, PromiseWithResolvers<T>>();
  const send = (): void => {
    const all = [...waiting];
    waiting = new Map();
    for (let at = 0; at < all.length; at += MOST) {
      const some = all.slice(at, at + MOST);
      const answer = read(some.map(([id]) => id));
      for (const [id, { resolve, reject }] of some) answer.then((found) => resolve(found.get(id) as T), reject);
    }
  };
  return (id) => {
    if (waiting.size === 0) setTimeout(send);
    const known = waiting.get(id) ?? Promise.withResolvers<T>();
    waiting.set(id, known);
    return known.promise;
  };
}

/** The run that a score is about. Of a message in the chat only the id is known. */
export interface Scored {
  id: string;
  project?: string;
  start_time?: string;
}

/** Feedback on a run. */
export type Feedback = StoredFeedback & { run_id: string };

/** A person's feedback on a run. */
interface FeedbackInput {
  key: string;
  score: number | null;
  comment: string | null;
}

/** The key of the thumbs, as in LangSmith's examples. */
export const THUMBS = "user_score";

/** A run's trace is stored after the run: feedback on it is sent again until then, milliseconds. */
const AGAIN_MS = 1_000;
const LOOKS = 10;

const readThumbs = together<Feedback[]>(async (ids) => {
  const query = new URLSearchParams([...ids.map((id) => ["run", id]), ["key", THUMBS], ["source", "app"]]);
  const given = await call<Feedback[]>("GET", `/api/v1/feedback?${query}`);
  const byRun = Map.groupBy(given, ({ run_id }) => run_id);
  return new Map(ids.map((id) => [id, byRun.get(id) ?? []]));
});

/** The caller's own thumb on a run, with its comment; null for none. */
export function useOwnThumb(run: string) {
  const may = useMay();
  const { data: me } = useMe();
  const user = me?.id;
  return useQuery({
    queryKey: ["feedback", "thumbs", run],
    enabled: me !== undefined && may("traces.read"),
    queryFn: () => readThumbs(run),
    select: (given) => given.find(({ feedback_source }) => (feedback_source.user_id ?? undefined) === user) ?? null,
    staleTime: 60_000,
  });
}

/** The keys of feedback that have a configuration. */
export function useKeys() {
  return useQuery({
    queryKey: ["feedback-configs"],
    queryFn: ({ signal }) => call<{ feedback_key: string }[]>("GET", "/api/v1/feedback-configs", undefined, signal),
    staleTime: 60_000,
  });
}

const reload = () => queryClient.invalidateQueries({ queryKey: ["feedback"] });

/** Gives feedback on a run, or changes what the caller gave before. */
export async function give(
  run: Scored,
  user: string | undefined,
  said: FeedbackInput,
  before?: Feedback | null,
): Promise<void> {
  if (before) await call("PATCH", `/api/v1/feedback/${before.id}`, { score: said.score, comment: said.comment });
  else await create(run, user, said);
  await reload();
}

async function create(
  { id, project, start_time }: Scored,
  user: string | undefined,
  said: FeedbackInput,
): Promise<void> {
  const body = {
    ...said,
    // The same feedback when it is sent again.
    id: crypto.randomUUID(),
    run_id: id,
    session_id: project,
    start_time,
    feedback_source: { type: "app", user_id: user },
  };
  for (let looks = 1; ; looks++) {
    try {
      return await call<void>("POST", "/api/v1/feedback", body);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404 || looks === LOOKS) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
}

/** Takes feedback back. */
export async function takeBack({ id }: Feedback): Promise<void> {
  await call("DELETE", `/api/v1/feedback/${id}`);
  await reload();
}
