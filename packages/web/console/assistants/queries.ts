/** Reads and changes of the views of assistants. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Assistant, AssistantSchemas } from "../../api/types.ts";
import type { GraphJson } from "./graph.ts";
import type { Resource } from "../../resources/ListPage.tsx";
import type { Assistant as AssistantRow, AssistantVersion as Version } from "../../../../src/agents/assistants/wire.ts";
import { pagesOf } from "../../resources/queries.ts";

export type { AssistantRow, Version };

export const RESOURCE: Resource = {
  path: "/console/assistants",
  name: "Assistants",
  one: "assistant",
  permission: "assistants.write",
};

const PAGE = 50;
const ALL = ["assistant-pages"];
const of = (id: string) => `/assistants/${encodeURIComponent(id)}`;

/** The assistants whose name has these words, the one that changed last first. */
export function useAssistantList(name: string) {
  return useInfiniteQuery({
    queryKey: [...ALL, "list", name],
    ...pagesOf<AssistantRow>(PAGE),
    queryFn: ({ pageParam, signal }) => {
      const body = {
        limit: PAGE,
        offset: pageParam,
        sort_by: "updated_at",
        sort_order: "desc",
        ...(name !== "" && { name }),
      };
      return call<AssistantRow[]>("POST", "/assistants/search", body, signal);
    },
    placeholderData: keepPreviousData,
  });
}

export function useAssistant(id: string) {
  return useQuery({
    queryKey: [...ALL, "one", id],
    queryFn: ({ signal }) => call<AssistantRow>("GET", of(id), undefined, signal),
  });
}

/** The graph with its subgraphs in place. It changes with a deployment, and with the configuration. */
export function useGraph(id: string, version: number | undefined) {
  return useQuery({
    queryKey: [...ALL, "graph", id, version],
    enabled: version !== undefined,
    queryFn: ({ signal }) => call<GraphJson>("GET", `${of(id)}/graph?xray=true`, undefined, signal),
    staleTime: 300_000,
  });
}

export interface Schemas extends AssistantSchemas {
  input_schema?: { properties?: Record<string, unknown> } | null;
}

export function useAllSchemas(id: string) {
  return useQuery({
    queryKey: ["schemas", id],
    queryFn: ({ signal }) => call<Schemas>("GET", `${of(id)}/schemas`, undefined, signal),
    staleTime: 300_000,
  });
}

export function useVersions(id: string) {
  return useInfiniteQuery({
    queryKey: [...ALL, "versions", id],
    ...pagesOf<Version>(PAGE),
    queryFn: ({ pageParam, signal }) =>
      call<Version[]>("POST", `${of(id)}/versions`, { limit: PAGE, offset: pageParam }, signal),
  });
}

/** The ids of the deployed graphs: each has an assistant of its own. */
export function useGraphIds() {
  return useQuery({
    queryKey: [...ALL, "graphs"],
    queryFn: async ({ signal }) => {
      const body = { limit: 1_000, select: ["graph_id"] };
      const rows = await call<Pick<Assistant, "graph_id">[]>("POST", "/assistants/search", body, signal);
      return [...new Set(rows.map(({ graph_id }) => graph_id))].toSorted();
    },
    staleTime: 60_000,
  });
}

async function reload(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: ALL }),
    queryClient.invalidateQueries({ queryKey: ["assistants"] }),
  ]);
}

export async function createAssistant(body: Record<string, unknown>): Promise<AssistantRow> {
  const made = await call<AssistantRow>("POST", "/assistants", body);
  await reload();
  return made;
}

/** Makes a new version, and makes it the active one. */
export async function updateAssistant(id: string, body: Record<string, unknown>): Promise<AssistantRow> {
  const made = await call<AssistantRow>("PATCH", of(id), body);
  await reload();
  return made;
}

export async function activateVersion(id: string, version: number): Promise<void> {
  await call("POST", `${of(id)}/latest`, { version });
  await reload();
}

export async function deleteAssistant(id: string): Promise<void> {
  await call("DELETE", of(id));
  queryClient.removeQueries({ queryKey: [...ALL, "one", id] });
  await reload();
}
