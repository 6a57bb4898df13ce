/** Reads and changes of the views of crons. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { byCron } from "./firing.ts";
import type { Cron, Firing } from "../../../../src/automation/crons/wire.ts";
import { defineQueries, pagesOf } from "../../resources/queries.ts";

const PAGE = 50;
const ALL = ["crons"];
/** Milliseconds. A due time comes at most once a minute. */
const AGAIN = 15_000;

const { reload, useItem, remove } = defineQueries<Cron>("crons", "/runs/crons", AGAIN);

export { useItem as useCron, remove as deleteCron };

/** The crons of the workspace, the newest first. */
export function useCrons() {
  return useInfiniteQuery({
    queryKey: [...ALL, "list"],
    ...pagesOf<Cron>(PAGE),
    queryFn: ({ pageParam, signal }) =>
      call<Cron[]>("POST", "/runs/crons/search", { limit: PAGE, offset: pageParam }, signal),
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
