/** Shapes of requests about members and invitations. */
import { Problem } from "../../lib/problem.ts";
import * as v from "valibot";
import { RoleName } from "../auth/schema.ts";
import { pagingQuery } from "../../http/shapes.ts";

// The OpenID provider by which people sign in, and how its names for them are written, so that equal ones are equal texts.

/**
 * An e-mail address in lower case. Only A to Z change: Unicode has other letters whose lower case is one of a to z, such as the
 * Kelvin sign, and the address with such a letter is another person's.
 */
export const lowerAddress = (address: string): string => address.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());

/** The issuer of a provider. One without a path may be written with or without a slash at its end (RFC 3986, section 6.2.3). */
export function normalizeIssuer(issuer: string): string {
  const { origin, href } = new URL(issuer);
  return href === `${origin}/` ? origin : href;
}

/** The issuer of the provider by which people sign in here. @throws Problem 409 when none is configured */
export function requireIssuer({ OIDC_ISSUER, OIDC_CLIENT_ID }: Env): string {
  if (OIDC_ISSUER && OIDC_CLIENT_ID) return normalizeIssuer(OIDC_ISSUER);
  throw new Problem(409, "People sign in by an OpenID provider. Set OIDC_ISSUER and OIDC_CLIENT_ID.");
}

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
