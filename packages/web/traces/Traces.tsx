/** The trace routes, loaded when one of them is opened. */
import type { ViewProps } from "../app/view-props.ts";
import { List } from "./runs/List.tsx";
import { Trace } from "./trace/Trace.tsx";

export default function Traces({ id }: ViewProps) {
  return id === undefined ? <List /> : <Trace key={id} traceId={id} />;
}
