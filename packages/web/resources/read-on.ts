/** Reads the pages of a list until what is sought is among its rows. */
import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { useEffect } from "react";

type Pages = Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetching" | "isError" | "fetchNextPage">;

/** Requests the next page while `sought` is true, up to the last page or an error. */
export function useReadOn({ hasNextPage, isFetching, isError, fetchNextPage }: Pages, sought: boolean): void {
  useEffect(() => {
    if (sought && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [sought, hasNextPage, isFetching, isError, fetchNextPage]);
}
