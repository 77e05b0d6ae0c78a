/** Small conveniences over the DOM. */

/** @param {string} id @returns {any} the element, which must be there */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`There is no element ${id}.`);
  return found;
}

/**
 * Make an element.
 * @param {string} tag
 * @param {object} [properties] set on the element; `dataset` is merged
 * @param {...(Node|string)} children
 */
export function make(tag, properties = {}, ...children) {
  const { dataset, ...rest } = properties;
  const element = Object.assign(document.createElement(tag), rest);
  Object.assign(element.dataset, dataset);
  element.append(...children);
  return element;
}

/** Change text only when it differs: writing it again costs a layout. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Show or hide. */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/** Fill a select with options. */
export function setOptions(select, values, label = String) {
  select.replaceChildren(...values.map((value) => new Option(label(value), value)));
}
