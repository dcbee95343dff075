package main

type Config struct {
	APIKey       string `json:"api_key" yaml:"apiKey" env:"API_KEY,required"`
	Password     string `json:"password,omitempty" validate:"min=8,max=72"`
	ClientSecret string `json:"client_secret"`
}

func main() {
	token := os.Getenv("GITHUB_TOKEN")
	secret := []byte(os.Getenv("JWT_SECRET"))
	password, err := terminal.ReadPassword(int(os.Stdin.Fd()))
	req.Header.Set("Authorization", "Bearer "+token)
	req.SetBasicAuth(user, password)
	key := fmt.Sprintf("%s/%s/%d", bucket, prefix, 20240102)
	log.Printf("token=%s key=%q password=%s", redact(token), key, strings.Repeat("*", 8))
	fmt.Println("api_key: must be set; token: must be 40 hexadecimal digits; password: at least 8")
	dsn := fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", user, password, host, db)
	if token != "" && len(token) != 40 { return ErrToken }
	accessKey = strings.TrimSpace(accessKeyID20)
}
