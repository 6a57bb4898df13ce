/** Applications and grants on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { Count, Time } from "../../http/shapes.ts";

export const OAuthClient = v.pipe(
  v.object({
    client_id: v.string(),
    client_name: v.nullable(v.string()),
    client_uri: v.nullable(v.string()),
    redirect_uris: v.array(v.string()),
    grant_types: v.array(v.string()),
    registered_by: v.picklist(["document", "registration"]),
    created_at: Time,
    grants: Count,
    scopes: v.array(v.string()),
    last_granted_at: Time,
  }),
  v.title("OAuthClient"),
);
export type OAuthClient = v.InferOutput<typeof OAuthClient>;

export const Grant = v.pipe(
  v.object({
    id: v.string(),
    client_id: v.string(),
    client_name: v.nullable(v.string()),
    scopes: v.array(v.string()),
    resource: v.nullable(v.string()),
    granted_by: v.nullable(v.string()),
    created_at: Time,
  }),
  v.title("Grant"),
);
export type Grant = v.InferOutput<typeof Grant>;
