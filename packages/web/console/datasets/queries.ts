/** Reads and changes of the views of datasets. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { authFetch, call } from "../../api/http.ts";
import type { Resource } from "../../resources/ListPage.tsx";
import type { Dataset } from "../../../../src/traces/review/datasets/wire.ts";
import { defineQueries, pagesOf } from "../../resources/queries.ts";

export const RESOURCE: Resource = {
  path: "/console/datasets",
  name: "Datasets",
  one: "dataset",
  permission: "datasets.write",
};

export type { Dataset };

type Members = Record<string, unknown>;

export interface Example {
  id: string;
  created_at: string;
  modified_at: string;
  inputs: Members;
  outputs: Members | null;
  metadata?: Members & { dataset_split?: string[] };
  source_run_id: string | null;
}

interface Version {
  as_of: string;
  tags: string[];
}

const ALL = ["datasets"];
const PAGE = 50;

const { reload, useItem, remove } = defineQueries<Dataset>("datasets", "/api/v1/datasets");

export { useItem as useDataset, remove as deleteDataset };

export function useDatasets() {
  return useQuery({
    queryKey: [...ALL, "list"],
    queryFn: ({ signal }) => call<Dataset[]>("GET", "/api/v1/datasets?limit=100", undefined, signal),
  });
}

/** The examples of a version and a split, the newest first. Empty texts: the latest version, all splits. */
export function useExamples(dataset: string, version: string, split: string) {
  return useInfiniteQuery({
    queryKey: [...ALL, "examples", dataset, version, split],
    ...pagesOf<Example>(PAGE),
    queryFn: ({ pageParam, signal }) => {
      const query = new URLSearchParams({ dataset, limit: String(PAGE), offset: String(pageParam) });
      if (version !== "") query.set("as_of", version);
      if (split !== "") query.set("splits", split);
      return call<Example[]>("GET", `/api/v1/examples?${query}`, undefined, signal);
    },
    placeholderData: keepPreviousData,
  });
}

export function useSplits(dataset: string) {
  return useQuery({
    queryKey: [...ALL, "splits", dataset],
    queryFn: ({ signal }) => call<string[]>("GET", `/api/v1/datasets/${dataset}/splits`, undefined, signal),
  });
}

export function useVersions(dataset: string) {
  return useQuery({
    queryKey: [...ALL, "versions", dataset],
    queryFn: ({ signal }) =>
      call<Version[]>("GET", `/api/v1/datasets/${dataset}/versions?limit=100`, undefined, signal),
  });
}

/** Which examples differ from a version to the latest one. */
export function useDiff(dataset: string, version: string) {
  return useQuery({
    queryKey: [...ALL, "diff", dataset, version],
    enabled: version !== "",
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ from_version: version, to_version: "latest" });
      type Diff = Record<"examples_added" | "examples_modified" | "examples_removed", string[]>;
      return call<Diff>("GET", `/api/v1/datasets/${dataset}/versions/diff?${query}`, undefined, signal);
    },
  });
}

export async function createDataset(name: string, description: string): Promise<Dataset> {
  const given = { name, ...(description !== "" && { description }) };
  const made = await call<Dataset>("POST", "/api/v1/datasets", given);
  await reload();
  return made;
}

export async function changeDataset(id: string, change: { name: string; description: string }): Promise<void> {
  await call("PATCH", `/api/v1/datasets/${id}`, change);
  await reload();
}

/** The members of an example that are written. */
interface Written {
  inputs: Members;
  outputs: Members | null;
  metadata: Members;
  split: string[];
}

/** Writes an example: a new one without `id`. */
export async function writeExample(dataset: string, id: string | undefined, written: Written): Promise<void> {
  const { outputs, ...rest } = written;
  const body = { ...rest, ...(outputs && { outputs }) };
  if (id === undefined) await call("POST", "/api/v1/examples", { dataset_id: dataset, ...body });
  else await call("PATCH", `/api/v1/examples/${id}`, body);
  await reload();
}

export async function deleteExamples(ids: string[]): Promise<void> {
  await call("POST", "/api/v1/platform/datasets/examples/delete", { example_ids: ids });
  await reload();
}

export async function changeSplit(dataset: string, split: string, examples: string[], remove: boolean): Promise<void> {
  await call("PUT", `/api/v1/datasets/${dataset}/splits`, { split_name: split, examples, remove });
  await reload();
}

export async function nameVersion(dataset: string, version: string, tag: string): Promise<void> {
  await call("PUT", `/api/v1/datasets/${dataset}/tags`, { as_of: version, tag });
  await reload();
}

/** Which columns of a file are what. Without any, the file has examples as a download in JSON Lines has them. */
export interface Mapping {
  inputs: string[];
  outputs: string[];
  metadata: string[];
}

/** Makes a dataset of a file. */
async function uploaded(file: File, name: string, { inputs, outputs, metadata }: Mapping): Promise<Dataset> {
  const form = new FormData();
  form.append("name", name);
  for (const key of inputs) form.append("input_keys", key);
  for (const key of outputs) form.append("output_keys", key);
  for (const key of metadata) form.append("metadata_keys", key);
  form.append("file", file, file.name);
  const answer = await authFetch("/api/v1/datasets/upload", { method: "POST", body: form });
  const body = (await answer.json().catch(() => ({}))) as Dataset & { detail?: string };
  if (!answer.ok) throw new Error(body.detail ?? `The server answered ${answer.status}.`);
  return body;
}

export async function uploadDataset(file: File, name: string, mapping: Mapping): Promise<Dataset> {
  const made = await uploaded(file, name, mapping);
  await reload();
  return made;
}

/** Adds the examples of a file: a dataset of the file is made, copied in one version, and deleted. */
export async function importFile(dataset: string, file: File, mapping: Mapping): Promise<void> {
  const made = await uploaded(file, `Import of ${file.name} ${crypto.randomUUID()}`, mapping);
  try {
    await call("POST", "/api/v1/datasets/clone", { source_dataset_id: made.id, target_dataset_id: dataset });
  } finally {
    await call("DELETE", `/api/v1/datasets/${made.id}`);
    await reload();
  }
}

/** Saves a dataset as a file on the person's machine. */
export async function download({ id, name }: Dataset, format: "csv" | "jsonl", version: string): Promise<void> {
  const query = version === "" ? "" : `?${new URLSearchParams({ as_of: version })}`;
  const answer = await authFetch(`/api/v1/datasets/${id}/${format}${query}`);
  if (!answer.ok) {
    const { detail } = (await answer.json().catch(() => ({}))) as { detail?: string };
    throw new Error(detail ?? `The server answered ${answer.status}.`);
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `${name}.${format}`;
  link.click();
  URL.revokeObjectURL(link.href);
}
