/** Shapes of requests about members and invitations. */
import * as v from "valibot";
import { RoleName } from "../auth/schema.ts";
import { pagingQuery } from "../../http/shapes.ts";
import { lowerAddress } from "../../members/person.ts";

const DAY_SECONDS = 24 * 3600;

export const Paging = v.object(pagingQuery(1000));
export const MemberParam = v.object({ id: v.string() });
export const SessionParam = v.object({ id: v.string(), session_id: v.string() });
export const OwnSessionParam = v.object({ session_id: v.string() });

const Email = v.pipe(
  v.string(),
  v.maxLength(320),
  v.regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address"),
  v.transform(lowerAddress),
);

export const AddMember = v.strictObject({
  /** The `sub` that the OpenID provider has for the person. */
  subject: v.pipe(v.string(), v.minLength(1), v.maxLength(255)),
  email: v.optional(v.nullable(Email), null),
  role: RoleName,
});

export const ChangeMember = v.strictObject({ role: RoleName });

export const Invite = v.strictObject({
  role: RoleName,
  /** Only a person with this verified address may accept. */
  email: v.optional(v.nullable(Email), null),
  expires_in_seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(30 * DAY_SECONDS)),
    7 * DAY_SECONDS,
  ),
});
