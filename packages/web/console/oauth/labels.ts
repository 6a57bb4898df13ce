/** Applications in words. */

/** The name of an application, or its host or id where it has none. */
export function clientName({ client_id, client_name }: { client_id: string; client_name: string | null }): string {
  return client_name || (URL.parse(client_id)?.host ?? client_id);
}

/** Where an application returns to, in one word: its hosts, or "this device" for a loopback address. */
export function returnsTo(redirectUris: string[]): string {
  const places = redirectUris.map((uri) => {
    const url = URL.parse(uri);
    if (!url) return uri;
    if (["localhost", "127.0.0.1", "[::1]"].includes(url.hostname)) return "this device";
    return /^https?:$/.test(url.protocol) ? url.host : `${url.protocol}//`;
  });
  return [...new Set(places)].join(", ");
}
