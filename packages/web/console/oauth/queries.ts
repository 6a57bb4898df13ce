/** Applications that have access to the workspace, and what people allowed them. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";

export interface Client {
  client_id: string;
  client_name: string | null;
  client_uri: string | null;
  redirect_uris: string[];
  registered_by: "document" | "registration";
  created_at: string;
  grants: number;
  scopes: string[];
  last_granted_at: string;
}

export interface Grant {
  id: string;
  client_id: string;
  scopes: string[];
  /** The path under which its tokens work. Null: the whole API. */
  resource: string | null;
  /** The id of an API key, or `openid:<subject>`. */
  granted_by: string;
  created_at: string;
}

const CLIENTS = "/api/v1/oauth-clients";
const GRANTS = "/api/v1/grants";

/** The most that the page reads: a workspace with more applications is read by the API. */
const MOST = 1_000;

export function useClients() {
  return useQuery({
    queryKey: ["oauth", "clients"],
    queryFn: ({ signal }) => call<Client[]>("GET", `${CLIENTS}?limit=${MOST}`, undefined, signal),
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
