/** Experiments of a dataset: which there are, and up to five of them side by side. */
import { defineResource } from "../../resources/defineResource.tsx";
import { Compare } from "./Compare.tsx";
import { List } from "./List.tsx";
import { New } from "./New.tsx";
import { RESOURCE } from "./queries.ts";

export default defineResource(RESOURCE, { list: List, item: Compare, create: New });
