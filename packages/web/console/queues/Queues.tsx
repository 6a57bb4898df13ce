/** Annotation queues: the list, a new one, and the review of one. */
import type { ViewProps } from "../../app/view-props.ts";
import { List } from "./List.tsx";
import { New } from "./New.tsx";
import { Queue } from "./Queue.tsx";

export default function Queues({ id }: ViewProps) {
  if (id === undefined) return <List />;
  return id === "new" ? <New /> : <Queue key={id} id={id} />;
}
