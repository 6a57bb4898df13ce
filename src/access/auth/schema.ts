import * as v from "valibot";
import { Flag, Uuid } from "../../http/shapes.ts";
import { isNetwork } from "../../http/context.ts";
import { SCOPES } from "../../http/principal.ts";

const name = v.pipe(v.string(), v.minLength(1), v.maxLength(200));

export const CreateWorkspace = v.strictObject({
  id: v.optional(Uuid),
  name,
});

export const RoleName = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9_-]{0,39}$/, "must be up to 40 letters a-z, digits, - and _"),
);

const Scopes = v.pipe(v.array(v.picklist(SCOPES)), v.minLength(1));
/** When a key stops working: an ISO 8601 time in the future; null for never. */
const Expiry = v.nullable(
  v.pipe(
    v.string(),
    v.isoTimestamp("must be a time such as 2027-01-31T00:00:00Z"),
    v.transform((text) => Date.parse(text)),
    v.check((time) => time > Date.now(), "must be in the future"),
  ),
);
/** From where a key works: addresses and CIDR networks; null for anywhere. */
const AllowedIps = v.nullable(
  v.pipe(
    v.array(v.pipe(v.string(), v.check(isNetwork, "must be an address or a network such as 192.0.2.0/24"))),
    v.minLength(1),
    v.maxLength(50),
  ),
);

export const KeyParam = v.object({ id: v.string() });

export const DeleteKey = v.object({
  /** Whether the keys that were rolled to this one end with it, also within their overlap. */
  predecessors: v.optional(Flag, "false"),
});

export const CreateKey = v.strictObject({
  name: v.optional(name, "unnamed"),
  scopes: v.optional(Scopes),
  role: v.optional(v.nullable(RoleName)),
  expires_at: v.optional(Expiry),
  allowed_ips: v.optional(AllowedIps),
});

export const UpdateKey = v.strictObject({
  name: v.optional(name),
  scopes: v.optional(Scopes),
  role: v.optional(v.nullable(RoleName)),
  expires_at: v.optional(Expiry),
  allowed_ips: v.optional(AllowedIps),
});

export const RollKey = v.strictObject({
  /** Seconds for which the old key still works. */
  overlap_seconds: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(30 * 24 * 3600)), 24 * 3600),
});
