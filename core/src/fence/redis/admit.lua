return admit_token(KEYS[1], ARGV[1])
