/** Where in the Store a page is, as its address says it: `?in=<label>&in=<label>&key=<key>`, and `&of=<label>` for each
 * label of the namespace of the item, where that is not the one in view. */

export interface StoreLocation {
  namespace: string[];
  /** The item that is open. */
  key: string | undefined;
  /** Its namespace: the one in view, or one below that. */
  of: string[];
  /** Words to search for. */
  query: string;
  /** A new item is being written. */
  isNew: boolean;
}

export function parseLocation(params: URLSearchParams): StoreLocation {
  const namespace = params.getAll("in").filter((label) => label !== "");
  const of = params.getAll("of").filter((label) => label !== "");
  return {
    namespace,
    of: of.length > 0 ? of : namespace,
    key: params.get("key") ?? undefined,
    query: params.get("query") ?? "",
    isNew: params.get("new") !== null,
  };
}

export function formatAddress({
  namespace = [],
  key,
  of = namespace,
  query = "",
  isNew = false,
}: Partial<StoreLocation>): string {
  const params = new URLSearchParams();
  for (const label of namespace) params.append("in", label);
  if (query !== "") params.set("query", query);
  if (key !== undefined) {
    params.set("key", key);
    if (!same(of, namespace)) for (const label of of) params.append("of", label);
  }
  if (isNew) params.set("new", "1");
  return params.size === 0 ? "/console/store" : `/console/store?${params}`;
}

/** The labels one level below a namespace, of a list that was cut to that depth. */
export function listChildren(namespaces: string[][], parent: string[]): string[] {
  return namespaces
    .filter((one) => one.length === parent.length + 1 && isBelow(one, parent))
    .map((one) => one.at(-1) ?? "")
    .toSorted((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

export const isBelow = (namespace: string[], parent: string[]): boolean =>
  parent.every((label, n) => namespace[n] === label);

export const same = (a: string[], b: string[]): boolean => a.length === b.length && isBelow(a, b);

/** The labels that a person typed, with slashes between them. Undefined when there is none. */
export function parseLabels(text: string): string[] | undefined {
  const labels = text
    .split("/")
    .map((label) => label.trim())
    .filter((label) => label !== "");
  return labels.length > 0 ? labels : undefined;
}

const CLIP = 160;

/** A value in one line: the only text that it has, else its members. */
export function previewValue(value: Record<string, unknown>): string {
  const members = Object.entries(value);
  const texts = members.map(([name, one]) => {
    const text = typeof one === "string" ? one : JSON.stringify(one);
    return members.length === 1 && typeof one === "string" ? text : `${name}: ${text}`;
  });
  const line = texts.join(" · ").replaceAll(/\s+/g, " ").trim();
  return line.length > CLIP ? `${line.slice(0, CLIP)}…` : line;
}
