// A library that is no tool.
extern "C" int something() { return 1; }
