/** Where the API is: on the page's own origin, below `http.mount_prefix`, which `weir` writes into the page. */

const PREFIX = document.querySelector<HTMLMetaElement>('meta[name="weir-mount-prefix"]')?.content ?? "";

/** The address that SDKs take. */
export const SERVER = location.origin + PREFIX;

/** A path of the API as an address. Whole addresses stay as they are. */
export const resolveAddress = (path: string): string => (path.startsWith("/") ? SERVER + path : path);
