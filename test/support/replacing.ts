/** A real binding with some of its methods replaced, for faults, stale answers and counting. */
export function replacing<Binding extends object>(
  binding: Binding,
  methods: { [Name in keyof Binding]?: unknown },
): Binding {
  return new Proxy(binding, {
    get(target, name) {
      if (name in methods) return methods[name as keyof Binding];
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
