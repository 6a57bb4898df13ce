/** Vectors of texts: kept as base64 of 32-bit floats, compared by cosine. */

/** Turns texts into vectors of one length. Given to the Store where graphs are registered. */
export type Embed = (texts: string[]) => Promise<number[][]>;

export function encodeVector(vector: number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString("base64");
}

export function decodeVector(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer);
}

export interface Ranked {
  id: number;
  score: number;
}

/** Collects items by how near they are to `target`; an item with several vectors counts by its nearest. */
export function collectNearest(target: number[]): { add(id: number, vector: Float32Array): void; ranked(): Ranked[] } {
  const scores = new Map<number, number>();
  return {
    add(id, vector) {
      const score = cosine(target, vector);
      if (score > (scores.get(id) ?? -Infinity)) scores.set(id, score);
    },
    ranked: () => [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || b.id - a.id),
  };
}

function cosine(a: number[], b: Float32Array): number {
  let dot = 0;
  let left = 0;
  let right = 0;
  for (let n = 0; n < a.length; n++) {
    const [x, y] = [a[n] ?? 0, b[n] ?? 0];
    dot += x * y;
    left += x * x;
    right += y * y;
  }
  return left && right ? dot / Math.sqrt(left * right) : 0;
}
