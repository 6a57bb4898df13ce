/** The OpenID provider by which people sign in, and how its names for them are written, so that equal ones are equal texts. */
import { Problem } from "../lib/problem.ts";

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
