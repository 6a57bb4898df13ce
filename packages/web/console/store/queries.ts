/** Reads and changes of the view of the Store. Reading here does not prolong the life of an item. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Item } from "../../../../src/agents/memory/wire.ts";

export type { Item };

const ALL = ["store"];

/** Namespaces that one level shows at most. */
export const MOST_CHILDREN = 1_000;

/** The namespaces one level below this one, and itself where it has items of its own. */
export function useLevel(parent: string[]) {
  return useQuery({
    queryKey: [...ALL, "level", parent],
    queryFn: async ({ signal }) => {
      const body = { prefix: parent, max_depth: parent.length + 1, limit: MOST_CHILDREN };
      return (await call<{ namespaces: string[][] }>("POST", "/store/namespaces", body, signal)).namespaces;
    },
  });
}

const PAGE = 50;

/** The items at and below a namespace: the latest, or those that a search by words or meaning finds. */
export function useItems(namespace: string[], query: string) {
  return useInfiniteQuery({
    queryKey: [...ALL, "items", namespace, query],
    initialPageParam: 0,
    queryFn: async ({ pageParam, signal }) => {
      const body = {
        namespace_prefix: namespace,
        limit: PAGE,
        offset: pageParam,
        refresh_ttl: false,
        ...(query !== "" && { query }),
      };
      return (await call<{ items: Item[] }>("POST", "/store/items/search", body, signal)).items;
    },
    getNextPageParam: (last, pages) => (last.length < PAGE ? undefined : pages.length * PAGE),
    select: ({ pages }) => ({ rows: pages.flat() }),
    placeholderData: keepPreviousData,
  });
}

/** One item; null when there is none. */
export function useItem(namespace: string[], key: string) {
  return useQuery({
    queryKey: [...ALL, "item", namespace, key],
    queryFn: ({ signal }) => {
      const params = new URLSearchParams({ namespace: JSON.stringify(namespace), key, refresh_ttl: "false" });
      return call<Item | null>("GET", `/store/items?${params}`, undefined, signal);
    },
  });
}

const reload = () => queryClient.invalidateQueries({ queryKey: ALL });

export async function writeItem(
  namespace: string[],
  key: string,
  value: unknown,
  ttl: number | undefined,
): Promise<void> {
  await call("PUT", "/store/items", { namespace, key, value, ...(ttl !== undefined && { ttl }) });
  await reload();
}

export async function deleteItem(namespace: string[], key: string): Promise<void> {
  await call("DELETE", "/store/items", { namespace, key });
  await reload();
}
