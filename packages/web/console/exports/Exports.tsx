/** Exports of traces to a bucket. */
import type { ViewProps } from "../../app/view-props.ts";
import { JobPage } from "./Job.tsx";
import { List } from "./List.tsx";

/** Addresses below `/console/exports` that are dialogs over the list, not exports. */
const DIALOGS = ["new", "new-destination"];

export default function Exports({ id }: ViewProps) {
  return id === undefined || DIALOGS.includes(id) ? <List dialog={id} /> : <JobPage key={id} id={id} />;
}
