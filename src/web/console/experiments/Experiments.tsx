/** Experiments of a dataset: which there are, and up to five of them side by side. */
import type { ViewProps } from "../../page/frame.ts";
import { Compare } from "./Compare.tsx";
import { List } from "./List.tsx";

export default function Experiments({ id }: ViewProps) {
  return id === undefined ? <List /> : <Compare key={id} dataset={id} />;
}
