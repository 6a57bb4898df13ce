/** How well texts match a query: Okapi BM25 with the usual constants. */

const K1 = 1.2;
const B = 0.75;

export interface Scored {
  id: string;
  score: number;
}

/** Counts the words of a query in texts, one at a time. A text itself is not kept. */
export class Ranking {
  readonly #query: Set<string>;
  readonly #texts: { id: string; length: number; counts: Map<string, number> }[] = [];
  readonly #textsWith = new Map<string, number>();
  #words = 0;

  constructor(query: string) {
    this.#query = new Set(splitWords(query));
  }

  add(id: string, text: string): void {
    const words = splitWords(text);
    const counts = new Map<string, number>();
    for (const word of words) if (this.#query.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const word of counts.keys()) this.#textsWith.set(word, (this.#textsWith.get(word) ?? 0) + 1);
    this.#words += words.length;
    this.#texts.push({ id, length: words.length, counts });
  }

  /** The texts that share a word with the query, the best first. Equal ones keep the order in which they were added. */
  best(limit: number): Scored[] {
    const mean = this.#words / Math.max(1, this.#texts.length);
    const scored = this.#texts.flatMap(({ id, length, counts }) => {
      if (counts.size === 0) return [];
      const norm = K1 * (1 - B + (B * length) / mean);
      const score = [...counts].reduce(
        (sum, [word, count]) => sum + (this.#weight(word) * count * (K1 + 1)) / (count + norm),
        0,
      );
      return [{ id, score }];
    });
    return scored.sort((a, b) => b.score - a.score).slice(0, limit);
  }

  /** A word that few texts have says more. */
  #weight(word: string): number {
    const having = this.#textsWith.get(word) ?? 0;
    return Math.log(1 + (this.#texts.length - having + 0.5) / (having + 0.5));
  }
}

/** Letters and digits of any script, in lower case. */
function splitWords(text: string): string[] {
  return (
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
