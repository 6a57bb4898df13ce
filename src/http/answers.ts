/** Shapes that many answers share. Answers are not parsed: the shapes give their types, and describe them in /openapi.json. */
import * as v from "valibot";

/** An id that the server makes. */
export const Id = v.pipe(v.string(), v.uuid());

/** A time as `Date.toISOString` writes it. */
export const Time = v.pipe(v.string(), v.isoTimestamp());

/** A JSON object of any members. */
export const AnyObject = v.record(v.string(), v.unknown());

/** An object that may have other members. */
export const open = <const E extends v.ObjectEntries>(entries: E) => v.objectWithRest(entries, v.unknown());

export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** What was done, in words: the platform's answer to deletions. */
export const Message = v.object({ message: v.string() });

/** The object, or the members of it that the request selects. */
export const selectable = (whole: Whole) => v.union([whole, partialObject(whole)]);

export const selectableList = (whole: Whole) => v.union([v.array(whole), v.array(partialObject(whole))]);

type Whole = v.GenericSchema & { entries: v.ObjectEntries };

const partialObject = ({ entries }: Whole) => v.partial(v.object(entries));
