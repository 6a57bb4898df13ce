/** How the names that an OpenID provider has for people are written, so that equal ones are equal texts. */

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
