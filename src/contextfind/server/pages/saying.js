// What a refusal is told as, in the reader's language; the server's own words come along.

import { Refusal } from "./api.js";
import { byId } from "./dom.js";
import { word } from "./words.js";

/** Return the words for an error; where a key is missing or wrong, open the place for it. */
export function said(error) {
  if (!(error instanceof Refusal)) return word("gone", { why: String(error.message ?? error) });
  if (error.code === "GONE") return word("gone", { why: error.message });
  if (error.code === "SLOW") return word("slow");
  if (error.code === "UNAUTHENTICATED") {
    byId("keys").open = true;
    return word("badKey", { why: error.message });
  }
  return word("refused", { why: error.message });
}
