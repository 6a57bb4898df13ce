/** A person with a browser, for tests with real OAuth clients: signs in with a key and allows the requested scopes. */

/** Follows `address` to the consent page, allows, and returns where the browser is sent. */
export async function allow(address: URL, key: string): Promise<URL> {
  const first = await fetch(address, { redirect: "manual" });
  const signIn = parseForm(await first.text());
  const signedIn = await post(address, { ...signIn, api_key: key, step: "key" });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const next = new URL(signedIn.headers.get("location") ?? "", address);
  const consent = await (await fetch(next, { headers: { cookie }, redirect: "manual" })).text();
  const scopes = [...consent.matchAll(/name="grant" value="(\w+)"/g)].map(([, scope]) => scope ?? "");
  const answer = await post(address, { ...parseForm(consent), step: "allow" }, { cookie }, scopes);
  const location = answer.headers.get("location");
  if (!location) throw new Error(`No redirect: ${answer.status} ${await answer.text()}`);
  return new URL(location);
}

/** The hidden fields of a page's forms, which are the same in each. */
function parseForm(page: string): Record<string, string> {
  const fields = [...page.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  return Object.fromEntries(fields.map(([, name, value]) => [name ?? "", (value ?? "").replaceAll("&amp;", "&")]));
}

function post(
  address: URL,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
  grants: string[] = [],
): Promise<Response> {
  const body = new URLSearchParams(fields);
  for (const scope of grants) body.append("grant", scope);
  const { origin, pathname } = address;
  return fetch(origin + pathname, { method: "POST", body, headers: { origin, ...headers }, redirect: "manual" });
}
