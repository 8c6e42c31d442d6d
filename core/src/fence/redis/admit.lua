return note(KEYS[1], ARGV[1])
