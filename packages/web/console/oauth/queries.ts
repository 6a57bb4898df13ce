/** Applications that have access to the workspace, and what people allowed them. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Grant, OAuthClient } from "../../../../src/access/oauth/wire.ts";

export type { Grant, OAuthClient as Client };

const CLIENTS = "/api/v1/oauth-clients";
const GRANTS = "/api/v1/grants";

/** The most that the page reads: a workspace with more applications is read by the API. */
const MOST = 1_000;

export function useClients() {
  return useQuery({
    queryKey: ["oauth", "clients"],
    queryFn: ({ signal }) => call<OAuthClient[]>("GET", `${CLIENTS}?limit=${MOST}`, undefined, signal),
  });
}

export function useGrants() {
  return useQuery({
    queryKey: ["oauth", "grants"],
    queryFn: ({ signal }) => call<Grant[]>("GET", `${GRANTS}?limit=${MOST}`, undefined, signal),
  });
}

const again = () => queryClient.invalidateQueries({ queryKey: ["oauth"] });

export async function removeClient(id: string): Promise<void> {
  await call("DELETE", `${CLIENTS}/${encodeURIComponent(id)}`);
  await again();
}

export async function revokeGrant(id: string): Promise<void> {
  await call("DELETE", `${GRANTS}/${id}`);
  await again();
}
