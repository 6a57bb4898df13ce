/** Form bodies of the OAuth endpoints. */
import { readBody } from "../http/validate.ts";
import { OAuthError } from "../access/oauth/errors.ts";

const LIMIT = 32 * 1024;

/** The body as form fields; 415 in OAuth's dialect for another type, 413 past 32 KB. */
export async function readForm(request: Request): Promise<URLSearchParams> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new OAuthError("invalid_request", "Send the parameters as application/x-www-form-urlencoded.");
  }
  return new URLSearchParams(new TextDecoder().decode(await readBody(request, LIMIT)));
}

/** One field: undefined when absent or empty; RFC 6749 section 3.2 refuses a repeated one. */
export function readField(form: URLSearchParams, name: string): string | undefined {
  if (form.getAll(name).length > 1) throw new OAuthError("invalid_request", `${name} is given twice.`);
  return form.get(name) || undefined;
}

export function readRequiredField(form: URLSearchParams, name: string): string {
  const value = readField(form, name);
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is missing.`);
  return value;
}
