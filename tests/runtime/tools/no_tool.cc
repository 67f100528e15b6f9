// A library that is not a tool.
extern "C" int something() { return 1; }
