/** Queries that each resource has: one item, its deletion, and reading everything again after a change. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/http.ts";
import { queryClient } from "../api/queries.ts";

/**
 * @param key the first member of the keys of all queries of the resource
 * @param path an item is at `<path>/<id>`
 * @param refetchInterval milliseconds after which an open item is read again
 */
export function defineQueries<Row>(key: string, path: string, refetchInterval: number | false = false) {
  const itemKey = (id: string) => [key, "one", id];
  const itemPath = (id: string) => `${path}/${encodeURIComponent(id)}`;
  const reload = () => queryClient.invalidateQueries({ queryKey: [key] });
  return {
    reload,
    useItem: (id: string) =>
      useQuery({
        queryKey: itemKey(id),
        queryFn: ({ signal }) => call<Row>("GET", itemPath(id), undefined, signal),
        refetchInterval,
      }),
    remove: async (id: string) => {
      await call("DELETE", itemPath(id));
      queryClient.removeQueries({ queryKey: itemKey(id) });
      await reload();
    },
  };
}

/** Options of an infinite query whose pages have `size` rows, by their offsets. Its data are the rows of all pages. */
export const pagesOf = <Row>(size: number) => ({
  initialPageParam: 0,
  getNextPageParam: (last: Row[], pages: Row[][]) => (last.length < size ? undefined : pages.length * size),
  select: ({ pages }: { pages: Row[][] }) => ({ rows: pages.flat() }),
});
