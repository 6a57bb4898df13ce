/** The entries of the audit log. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { authFetch, call } from "../../api/http.ts";
import type { Range } from "../../resources/range.ts";
import type { Entry as WireEntry } from "../../../../src/access/audit/wire.ts";

export type Entry = WireEntry & { detail: Record<string, unknown> };

const PATH = "/api/v1/audit-log";
const PAGE = 100;

function buildQuery(range: Range, action: string): Record<string, string> {
  return {
    after: new Date(range.from).toISOString(),
    ...(range.to !== undefined && { before: new Date(range.to).toISOString() }),
    ...(action !== "" && { action }),
  };
}

const FIRST: AuditCursor = { offset: 0, before: undefined };

interface AuditCursor {
  offset: number;
  /** The list is read as it was when its first page was: an offset moves with each new entry. */
  before: string | undefined;
}

/** The entries of a time range, newest first, 100 at a time. */
export function useEntries(range: Range, action: string) {
  return useInfiniteQuery({
    queryKey: ["audit", range.key, action],
    initialPageParam: FIRST,
    queryFn: ({ pageParam: { offset, before }, signal }) => {
      const query = new URLSearchParams({
        ...buildQuery(range, action),
        ...(before !== undefined && { before }),
        limit: String(PAGE),
        offset: String(offset),
      });
      return call<Entry[]>("GET", `${PATH}?${query}`, undefined, signal);
    },
    getNextPageParam: (last, pages): AuditCursor | undefined => {
      const newest = pages[0]?.[0];
      if (last.length < PAGE || !newest) return undefined;
      return { offset: pages.length * PAGE, before: new Date(Date.parse(newest.at) + 1).toISOString() };
    },
    select: ({ pages }) => ({ rows: pages.flat() }),
    placeholderData: keepPreviousData,
  });
}

/** Saves all entries of a time range as a file, one a line. */
export async function download(range: Range, action: string): Promise<void> {
  const query = new URLSearchParams({ ...buildQuery(range, action), format: "ndjson" });
  const response = await authFetch(`${PATH}?${query}`);
  if (!response.ok) throw new Error(`The audit log was not downloaded: the server answered ${response.status}.`);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = "audit-log.ndjson";
  link.click();
  URL.revokeObjectURL(link.href);
}
