/** Experiments of a dataset: which there are, and up to five of them side by side. */
import type { ViewProps } from "../../app/view-props.ts";
import { Compare } from "./Compare.tsx";
import { List } from "./List.tsx";
import { New } from "./New.tsx";

export default function Experiments({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Compare key={id} dataset={id} />;
}
