/** What the views of threads ask the server for. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { ThreadRow } from "../../api/types.ts";
import type { Range } from "../range.ts";

const PAGE = 100;

/** The threads that changed in a time range, the newest first. A page that leaves the range is the last. */
export function useAllThreads(range: Range) {
  return useInfiniteQuery({
    queryKey: ["all-threads", range.key],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<ThreadRow[]>(
        "POST",
        "/threads/search",
        {
          limit: PAGE,
          offset: pageParam,
          sort_by: "updated_at",
          sort_order: "desc",
          select: ["thread_id", "status", "created_at", "updated_at", "metadata", "interrupts"],
          extract: { first: "values.messages[0].content" },
        },
        signal,
      ),
    getNextPageParam: (last, pages) => {
      const oldest = last.at(-1);
      const over = last.length < PAGE || (oldest && Date.parse(oldest.updated_at) < range.from);
      return over ? undefined : pages.length * PAGE;
    },
    select: ({ pages }) => ({
      rows: pages.flat().filter(({ updated_at }) => {
        const at = Date.parse(updated_at);
        return at >= range.from && (range.to === undefined || at < range.to);
      }),
    }),
    placeholderData: keepPreviousData,
  });
}
