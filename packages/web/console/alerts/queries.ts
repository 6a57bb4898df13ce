/** Reads and changes of the views of alerts. The shapes are those of docs/alerts.md. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { State } from "./labels.ts";
import type { Alert as WireAlert, AlertChange, Tested as WireTested } from "../../../../src/automation/alerts/wire.ts";
import { defineQueries, pagesOf } from "../../resources/queries.ts";

export type Channel =
  | { type: "webhook"; url: string; headers?: Record<string, string> }
  | { type: "slack"; url: string }
  | { type: "email"; provider: Provider; api_key?: string; from: string; to: string[] };

export type Provider = "resend" | "postmark" | "sendgrid";

export type Alert = Omit<WireAlert, "channels"> & { channels: Channel[] };

export type Change = AlertChange;

export type Tested = WireTested["channels"][number];

const ALL = ["alerts"];
const PATH = "/api/v1/alerts";
/** Milliseconds. An alert is evaluated once a minute. */
const AGAIN = 5_000;
/** A workspace has at most as many. */
const MOST = 100;
const PAGE = 50;

const { reload, useItem, remove } = defineQueries<Alert>("alerts", PATH, AGAIN);

export { useItem as useAlert, remove as deleteAlert };

const ORDER: State[] = ["firing", "resolved", "ok"];

/** Those that fire first, then the newest. */
export function useAlerts() {
  return useQuery({
    queryKey: [...ALL, "list"],
    queryFn: async ({ signal }) => {
      const oldestFirst = await call<Alert[]>("GET", `${PATH}?limit=${MOST}`, undefined, signal);
      return oldestFirst.toReversed().sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
    },
    refetchInterval: AGAIN,
  });
}

/** Newest first. Read again when the state changes, and while a channel is still to be notified. */
export function useHistory({ id, state_since }: Alert) {
  return useInfiniteQuery({
    queryKey: [...ALL, "history", id, state_since],
    ...pagesOf<Change>(PAGE),
    queryFn: ({ pageParam, signal }) =>
      call<Change[]>("GET", `${PATH}/${id}/history?limit=${PAGE}&offset=${pageParam}`, undefined, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.pages.flat().some(({ delivery }) => delivery === "pending") ? AGAIN : false,
  });
}

export async function saveAlert(id: string | undefined, body: object): Promise<Alert> {
  const saved = await (id === undefined ? call<Alert>("POST", PATH, body) : call<Alert>("PUT", `${PATH}/${id}`, body));
  await reload();
  return saved;
}

/** Calls each channel once. What became of each, in their order. */
export async function testAlert(id: string): Promise<Tested[]> {
  return (await call<{ channels: Tested[] }>("POST", `${PATH}/${id}/test`)).channels;
}
