/** Reads and changes of the views of crons. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import { byCron } from "./firing.ts";
import type { Cron, Firing } from "../../../../src/automation/crons/wire.ts";

const PAGE = 50;
const ALL = ["crons"];
/** Milliseconds. A due time comes at most once a minute. */
const AGAIN = 15_000;

/** The crons of the workspace, the newest first. */
export function useCrons() {
  return useInfiniteQuery({
    queryKey: [...ALL, "list"],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<Cron[]>("POST", "/runs/crons/search", { limit: PAGE, offset: pageParam }, signal),
    getNextPageParam: (last, pages) => (last.length < PAGE ? undefined : pages.length * PAGE),
    select: ({ pages }) => ({ rows: pages.flat() }),
    refetchInterval: AGAIN,
  });
}

export function useCron(id: string) {
  return useQuery({
    queryKey: [...ALL, "one", id],
    queryFn: ({ signal }) => call<Cron>("GET", `/runs/crons/${encodeURIComponent(id)}`, undefined, signal),
    refetchInterval: AGAIN,
  });
}

/** The most crons in one request. */
const AT_ONCE = 100;

/** The latest due times of crons by cron, the newest first; at most `limit` of each. */
export function useFirings(ids: string[], limit: number) {
  return useQuery({
    queryKey: [...ALL, "firings", limit, ids.join()],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      const found: Firing[] = [];
      for (let i = 0; i < ids.length; i += AT_ONCE) {
        const body = { cron_ids: ids.slice(i, i + AT_ONCE), limit };
        found.push(...(await call<Firing[]>("POST", "/runs/crons/firings", body, signal)));
      }
      return byCron(found);
    },
    placeholderData: keepPreviousData,
    refetchInterval: AGAIN,
  });
}

const reload = () => queryClient.invalidateQueries({ queryKey: ALL });

export async function createCron(
  thread: string | undefined,
  assistant: string,
  body: Record<string, unknown>,
): Promise<Cron> {
  const path = thread === undefined ? "/runs/crons" : `/threads/${encodeURIComponent(thread)}/runs/crons`;
  const made = await call<Cron>("POST", path, { ...body, assistant_id: assistant });
  await reload();
  return made;
}

export async function changeCron(id: string, body: Record<string, unknown>): Promise<void> {
  await call("PATCH", `/runs/crons/${id}`, body);
  await reload();
}

export async function deleteCron(id: string): Promise<void> {
  await call("DELETE", `/runs/crons/${id}`);
  queryClient.removeQueries({ queryKey: [...ALL, "one", id] });
  await reload();
}
