/** The namespaces that match a list of conditions. `*` in a path matches any one label, except in a literal one. */
import { joinLabels } from "../agents/memory/row.ts";

export interface NamespaceCondition {
  matchType: "prefix" | "suffix";
  path: string[];
  /** `*` is the label `*`. An auth handler judges labels, and one of them may be the identity of a user. */
  literal?: boolean;
}

export interface NamespaceList {
  conditions: NamespaceCondition[];
  maxDepth?: number;
  limit: number;
  offset: number;
}

/** The labels of a prefix condition before its first wildcard: what the database can narrow by. */
export function literalPrefix(conditions: NamespaceCondition[]): string[] {
  const prefix = conditions.find(({ matchType }) => matchType === "prefix");
  const path = prefix?.path ?? [];
  const wildcard = prefix?.literal ? -1 : path.indexOf("*");
  return wildcard === -1 ? path : path.slice(0, wildcard);
}

/** The matching namespaces, cut to `maxDepth` labels, each once, in order. */
export function selectNamespaces(all: string[][], { conditions, maxDepth, limit, offset }: NamespaceList): string[][] {
  const matching = all.filter((namespace) => conditions.every((condition) => matches(namespace, condition)));
  if (maxDepth === undefined) return matching.slice(offset, offset + limit);
  const cut = new Map(matching.map((namespace) => namespace.slice(0, maxDepth)).map((one) => [joinLabels(one), one]));
  return [...cut.values()].slice(offset, offset + limit);
}

function matches(namespace: string[], { matchType, path, literal }: NamespaceCondition): boolean {
  if (path.length > namespace.length) return false;
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.every((label, n) => (label === "*" && !literal) || namespace[start + n] === label);
}
